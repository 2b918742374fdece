// What the headers of a message tell of the exception that it died of: its type, its message, its stack trace. Pure. The broker groups
// by the same names.

const names = {
  type: [
    'xexceptiontype',
    'xexceptionfqcn',
    'xexceptionclass',
    'nservicebusexceptioninfoexceptiontype',
    'mtfaultexceptiontype',
    'kafkadltexceptionfqcn',
    'kafkaexceptionfqcn',
    'exceptionfqcn',
    'exceptiontype',
    'exceptionclass',
    'exctype',
    'errorclass',
    'errortype',
    'errtype',
    'xerrortype',
    'xerrorclass',
  ],
  message: [
    'xexceptionmessage',
    'nservicebusexceptioninfomessage',
    'mtfaultmessage',
    'kafkadltexceptionmessage',
    'kafkaexceptionmessage',
    'exceptionmessage',
    'excmessage',
    'errormessage',
    'errmsg',
    'xerrormessage',
    'failurereason',
    'failedreason',
    'xfailurereason',
  ],
  stack: [
    'xexceptionstacktrace',
    'nservicebusexceptioninfostacktrace',
    'mtfaultstacktrace',
    'kafkadltexceptionstacktrace',
    'rbs2errordetails',
    'capexception',
    'exceptionstacktrace',
    'traceback',
    'exception',
    'xexception',
    'xerror',
    'error',
    'xerrordetails',
    'errordetails',
    'stacktrace',
    'xstacktrace',
  ],
};

// accountOf returns {text, stack}: one line that says what happened, and the trace; both '' if the headers tell nothing.
export function accountOf(headers) {
  const plain = new Map(
    Object.entries(headers || {})
      .filter(([, v]) => typeof v === 'string' && v.trim())
      .map(([k, v]) => [k.toLowerCase().replace(/[-_.]/g, ''), v.trim()]),
  );
  const of = (slot) => plain.get(names[slot].find((n) => plain.has(n))) || '';
  const [type, message, stack] = [of('type'), of('message'), of('stack')];
  const first = firstLine(stack);
  const said = message.startsWith(type) ? message : [type, message].filter(Boolean).join(': ');
  const text = said && (type || !first.endsWith(`: ${said}`)) ? said : first; // Spring's trace alone has the class
  return { text, stack: stack === text ? '' : stack };
}

// firstLine of a trace; Python writes what happened last.
function firstLine(stack) {
  const lines = stack.split('\n').filter((x) => x.trim());
  return (/^Traceback/.test(lines[0] || '') ? lines.at(-1) : lines[0] || '').trim();
}

// isUntold tells whether nothing is known of a dead letter but that a client published it to a dead-letter queue.
export const isUntold = ({ republished: x, properties }) =>
  !!x && !x.exchange && !x.routing_key && !x.queue && !accountOf(properties?.headers).text;
