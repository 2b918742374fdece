// A policy as text for other tools: rabbitmqctl on Linux and Windows, Terraform, Kubernetes. Pure.

const json = (definition) => JSON.stringify(definition);
const sh = (s) => `'${String(s).replaceAll("'", `'\\''`)}'`;
const cmd = (s) => `"${String(s).replaceAll('"', '\\"')}"`;
const hcl = (s) => JSON.stringify(String(s)).replaceAll('${', '$${').replaceAll('%{', '%%{');
const yaml = (s) => JSON.stringify(String(s));
const identifier = (s) =>
  String(s)
    .replace(/[^\w]+/g, '_')
    .replace(/^(\d)/, '_$1') || 'policy';
const resource = (s) =>
  String(s)
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '') || 'policy';

// policyTexts are the texts of {vhost, name, pattern, definition, priority, applyTo, operator}.
/** @param {{vhost: string, name: string, pattern: string, definition: object, priority: number, applyTo: string, operator?: boolean}} policy */
export function policyTexts({ vhost, name, pattern, definition, priority, applyTo, operator }) {
  const verb = operator ? 'set_operator_policy' : 'set_policy';
  const call = (q) =>
    `${verb} ${q(name)} ${q(pattern)} ${q(json(definition))} --vhost ${q(vhost)} --priority ${priority} --apply-to ${applyTo}`;
  const body = JSON.stringify({ pattern, definition, priority, 'apply-to': applyTo });
  const kind = operator ? 'operator-policies' : 'policies';
  const type = operator ? 'rabbitmq_operator_policy' : 'rabbitmq_policy';
  return {
    linux: `bartleby ctl ${call(sh)}`,
    windows: `rabbitmqctl.bat ${call(cmd)}`,
    curl: `curl -u guest:guest -X PUT ${sh(`http://localhost:15672/api/${kind}/${encodeURIComponent(vhost)}/${encodeURIComponent(name)}`)} \\\n  -d ${sh(body)}`,
    terraform: [
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
      ...Object.entries(definition).map(([k, v]) => `      ${hcl(k)} = ${typeof v === 'string' ? hcl(v) : v}`),
      '    }',
      '  }',
      '}',
    ].join('\n'),
    kubernetes: [
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
      ...Object.entries(definition).map(([k, v]) => `    ${k}: ${typeof v === 'string' ? yaml(v) : v}`),
      '  rabbitmqClusterReference:',
      '    name: bartleby',
    ].join('\n'),
  };
}

// readDefinition reads the JSON of a definition: {value} or {error}, the error a message of JSON.parse or ''.
export function readDefinition(text) {
  try {
    const value = JSON.parse(text);
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return { error: '' };
    return { value };
  } catch (error) {
    return { error: error.message };
  }
}
