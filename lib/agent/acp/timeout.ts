/** Time limits for promises. */

/** Rejects with `sentence` after `ms`. */
export const withTimeout = async <T>(
  work: Promise<T>,
  ms: number,
  sentence: string,
): Promise<T> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(sentence)), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Undefined after `ms`; `onTimeout` is then called. */
export const waitAtMost = async <T>(
  work: Promise<T>,
  ms: number,
  onTimeout: () => void,
): Promise<T | undefined> => {
  let timer: NodeJS.Timeout | undefined
  const waited = new Promise<undefined>(resolve => {
    timer = setTimeout(() => {
      onTimeout()
      resolve(undefined)
    }, ms)
  })
  const first = await Promise.race([work, waited])
  clearTimeout(timer)
  return first
}
