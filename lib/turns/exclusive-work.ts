/** Work on a session that is not a turn, for example a compaction: one at a time, and no turn starts until it settles. */

export const createExclusiveWork = () => {
  const controllers = new Map<string, AbortController>()
  const running = new Set<Promise<unknown>>()

  return {
    has: (sessionId: string): boolean => controllers.has(sessionId),

    async run<T>(sessionId: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
      const controller = new AbortController()
      controllers.set(sessionId, controller)
      const result = work(controller.signal)
      running.add(result)
      try {
        return await result
      } finally {
        controllers.delete(sessionId)
        running.delete(result)
      }
    },

    /** Aborts the work on this session; false when there is none. */
    interrupt(sessionId: string): boolean {
      const controller = controllers.get(sessionId)
      controller?.abort(new Error('cancelled'))
      return controller !== undefined
    },

    abortAll(reason: unknown): void {
      for (const controller of controllers.values()) controller.abort(reason)
    },

    settled: async (): Promise<void> => void (await Promise.allSettled([...running])),
  }
}
