/** 128 random bits. Not `crypto.randomUUID`: it is missing where the page is served without TLS. */
export const randomId = (): string =>
  Array.from(crypto.getRandomValues(new Uint32Array(4)), part =>
    part.toString(16).padStart(8, '0'),
  ).join('')
