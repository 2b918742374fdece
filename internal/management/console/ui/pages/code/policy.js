// A policy as text for other tools: Terraform, Kubernetes; and as commands. Pure.
import { ctl, curl, inVHost, toBroker, typed } from '../../lib/commands.js';

// hcl writes a string. HCL has fewer escapes than JSON, and expressions in strings.
const hcl = (s) =>
  JSON.stringify(String(s))
    .replace(/\\[bf]/g, (c) => (c === '\\b' ? '\\u0008' : '\\u000c'))
    .replaceAll('${', () => '$${')
    .replaceAll('%{', '%%{');
const yaml = (s) => JSON.stringify(String(s));
const value = (quote, v) => (typeof v === 'string' ? quote(v) : JSON.stringify(v));
const identifier = (s) =>
  String(s)
    .replace(/[^\w]+/g, '_')
    .replace(/^(\d)/, '_$1') || 'policy';
const resource = (s) =>
  String(s)
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '') || 'policy';

/**
 * policyCommands are the commands that set a policy: with bartleby ctl, and with curl at {base, user}.
 * @typedef {{vhost: string, name: string, pattern: string, definition: object, priority: number, applyTo: string,
 *   operator?: boolean}} Policy
 * @param {{base: string, user: string}} at @param {Policy} policy
 */
export function policyCommands(at, { vhost, name, pattern, definition, priority, applyTo, operator }) {
  const kind = operator ? 'operator-policies' : 'policies';
  return {
    ctl: ctl(
      operator ? 'set_operator_policy' : 'set_policy',
      [name, pattern, JSON.stringify(definition)],
      [...inVHost(vhost), '--priority', String(priority), '--apply-to', applyTo],
    ),
    curl: curl(at, 'PUT', `${kind}/${encodeURIComponent(vhost)}/${encodeURIComponent(name)}`, {
      pattern,
      definition,
      priority,
      'apply-to': applyTo,
    }),
  };
}

// policyCodes are all the texts of a policy, by the names of tools.
/** @param {{base: string, user: string}} at @param {Policy} policy */
export function policyCodes(at, policy) {
  const commands = policyCommands(at, policy);
  return {
    ...typed(toBroker(commands.ctl, at)),
    curl: typed(commands.curl).linux,
    terraform: terraform(policy),
    kubernetes: kubernetes(policy),
  };
}

/** @param {Policy} policy */
function terraform({ vhost, name, pattern, definition, priority, applyTo, operator }) {
  const type = operator ? 'rabbitmq_operator_policy' : 'rabbitmq_policy';
  return [
    `resource "${type}" "${identifier(name)}" {`,
    `  name  = ${hcl(name)}`,
    `  vhost = ${hcl(vhost)}`,
    '',
    '  policy {',
    `    pattern  = ${hcl(pattern)}`,
    `    priority = ${priority}`,
    `    apply_to = ${hcl(applyTo)}`,
    '',
    '    definition = {',
    ...Object.entries(definition).map(([k, v]) => `      ${hcl(k)} = ${value(hcl, v)}`),
    '    }',
    '  }',
    '}',
  ].join('\n');
}

/** @param {Policy} policy */
function kubernetes({ vhost, name, pattern, definition, priority, applyTo, operator }) {
  return [
    'apiVersion: rabbitmq.com/v1beta1',
    `kind: ${operator ? 'OperatorPolicy' : 'Policy'}`,
    'metadata:',
    `  name: ${resource(name)}`,
    'spec:',
    `  name: ${yaml(name)}`,
    `  vhost: ${yaml(vhost)}`,
    `  pattern: ${yaml(pattern)}`,
    `  applyTo: ${yaml(applyTo)}`,
    `  priority: ${priority}`,
    Object.keys(definition).length ? '  definition:' : '  definition: {}',
    ...Object.entries(definition).map(([k, v]) => `    ${/^[\w-]+$/.test(k) ? k : yaml(k)}: ${value(yaml, v)}`),
    '  rabbitmqClusterReference:',
    '    name: bartleby',
  ].join('\n');
}
