// The JSON of a policy. Pure.

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
