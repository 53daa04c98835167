/** The CSP nonce for styles. Browsers hide it from the attribute, not from the property. */
export const pageNonce = (): string =>
  document.querySelector<HTMLElement>('link[nonce], style[nonce], script[nonce]')?.nonce ?? ''
