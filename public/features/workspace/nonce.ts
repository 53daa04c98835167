/** The nonce the page's policy admits styles with; browsers hide it from attributes, not from the property. */
export const pageNonce = (): string =>
  document.querySelector<HTMLElement>('link[nonce], style[nonce], script[nonce]')?.nonce ?? ''
