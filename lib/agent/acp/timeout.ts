/** The time limit of a request to an agent. */

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
