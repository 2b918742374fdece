// What the templates of policies fill in. Pure.

// deadLetterExchange is the one of these names that a template fills in: dlx, or one that is called like a dead-letter exchange.
export const deadLetterExchange = (names) =>
  names.find((n) => n === 'dlx') ?? names.find((n) => /(^|[._-])(dlx|dead-?letters?)($|[._-])/i.test(n));
