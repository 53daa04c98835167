/** Marks when the page has shown what was opened: what it does not show is requested after that. */

const { promise, resolve } = Promise.withResolvers<void>()

export const firstContent: Promise<void> = promise
export const markFirstContent: () => void = resolve
