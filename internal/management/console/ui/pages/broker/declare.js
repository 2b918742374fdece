// Code that declares a queue, in five languages and for curl. Pure.

const quote = (s) => JSON.stringify(s);
const single = (s) => `'${String(s).replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`;
// shell quotes a word for sh.
export const shell = (s) =>
  /^[\w@%+=:,./^$-]+$/.test(s) && !/[$^]/.test(s) ? s : `'${String(s).replaceAll("'", `'\\''`)}'`;

const values = {
  java: (v) =>
    typeof v === 'number'
      ? Number.isInteger(v) && Math.abs(v) > 2147483647
        ? `${v}L`
        : String(v)
      : typeof v === 'string'
        ? quote(v)
        : String(v),
  python: (v) =>
    v === true
      ? 'True'
      : v === false
        ? 'False'
        : v === null
          ? 'None'
          : typeof v === 'string'
            ? quote(v)
            : JSON.stringify(v),
  node: (v) => (typeof v === 'string' ? single(v) : JSON.stringify(v)),
  go: (v) =>
    typeof v === 'number' && Number.isInteger(v) ? `int64(${v})` : typeof v === 'string' ? quote(v) : String(v),
  dotnet: (v) =>
    typeof v === 'number' && Number.isInteger(v) && Math.abs(v) > 2147483647
      ? `${v}L`
      : typeof v === 'string'
        ? quote(v)
        : String(v),
};

// declareCode is the code for a queue {vhost, name, durable, auto_delete, arguments}.
export function declareCode(q) {
  const { vhost, name, durable, auto_delete: goes } = q;
  const args = Object.entries(q.arguments || {});
  const lines = (make, before = '', after = '') => args.map(([k, v]) => `${before}${make(k, v)}${after}`).join('\n');
  const body = JSON.stringify({ durable, auto_delete: goes, arguments: q.arguments || {} });
  return {
    java: `Map<String, Object> arguments = new HashMap<>();\n${args.length ? lines((k, v) => `arguments.put(${quote(k)}, ${values.java(v)});`) + '\n' : ''}channel.queueDeclare(${quote(name)}, ${durable}, false, ${goes}, arguments);`,
    python: `channel.queue_declare(${quote(name)}, durable=${values.python(durable)}, auto_delete=${values.python(goes)}, arguments={\n${lines((k, v) => `    ${quote(k)}: ${values.python(v)},`)}${args.length ? '\n' : ''}})`,
    node: `await channel.assertQueue(${single(name)}, {\n  durable: ${durable},\n  autoDelete: ${goes},\n  arguments: {\n${lines((k, v) => `    ${single(k)}: ${values.node(v)},`)}${args.length ? '\n' : ''}  },\n});`,
    go: `_, err := channel.QueueDeclare(${quote(name)}, ${durable}, ${goes}, false, false, amqp.Table{\n${lines((k, v) => `\t${quote(k)}: ${values.go(v)},`)}${args.length ? '\n' : ''}})`,
    dotnet: `await channel.QueueDeclareAsync(${quote(name)}, durable: ${durable}, exclusive: false, autoDelete: ${goes},\n    arguments: new Dictionary<string, object?> {\n${lines((k, v) => `        [${quote(k)}] = ${values.dotnet(v)},`)}${args.length ? '\n' : ''}    });`,
    curl: `curl -u guest:guest -X PUT ${shell(`http://localhost:15672/api/queues/${encodeURIComponent(vhost)}/${encodeURIComponent(name)}`)} \\\n  -d ${shell(body)}`,
  };
}

// bindCode is code that binds a queue to an exchange.
export function bindCode({ queue, exchange, key }) {
  const [q, e, k] = [quote(queue), quote(exchange), quote(key)];
  return {
    java: `channel.queueBind(${q}, ${e}, ${k});`,
    python: `channel.queue_bind(${q}, ${e}, ${k})`,
    node: `await channel.bindQueue(${single(queue)}, ${single(exchange)}, ${single(key)});`,
    go: `err := channel.QueueBind(${q}, ${k}, ${e}, false, nil)`,
    dotnet: `await channel.QueueBindAsync(${q}, ${e}, ${k});`,
  };
}

// nameTrouble says what is wrong with a queue's name, as the key of a message; '' if nothing is. strict: only what ApsaraMQ takes.
export function nameTrouble(name, strict) {
  if (!name) return 'name.empty';
  if (new TextEncoder().encode(name).length > 255) return 'name.long';
  if (name.startsWith('amq.')) return 'name.amq';
  if (/[\r\n]/.test(name)) return 'name.line';
  if (strict && !/^[\w\-.#/@]+$/.test(name)) return 'name.strict';
  return '';
}
