/** The browser paints and answers a touch before the promise resolves. A hidden page needs neither, and its timers are late. */
export const nextTask = (): Promise<void> =>
  document.hidden ? Promise.resolve() : new Promise(resolve => setTimeout(resolve))
