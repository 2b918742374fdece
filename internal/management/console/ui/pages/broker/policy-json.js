// The JSON of a policy, and what a template puts into it. Pure.

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

// deadLetterExchange is the one of these names that a template fills in: dlx, or one that is called like a dead-letter exchange.
export const deadLetterExchange = (names) =>
  names.find((n) => n === 'dlx') ?? names.find((n) => /(^|[._-])(dlx|dead-?letters?)($|[._-])/i.test(n));
