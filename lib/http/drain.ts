/** Counts the open responses of a server that is to stop: its listener stays open for questions about its state until they have ended. */
import type { IncomingMessage } from 'node:http'
import type { Listener } from './request-listener.ts'

export type Drain = {
  listener: Listener
  /** From now on only these requests are answered; the connection of any other ends without a byte, as if nothing listened. */
  only(isAnswered: (req: IncomingMessage) => boolean): void
  /** Resolves once no response is open. */
  ended(): Promise<void>
}

export const createDrain = (listener: Listener): Drain => {
  let open = 0
  let isAnswered = (_req: IncomingMessage): boolean => true
  let onEnded: (() => void)[] = []
  return {
    listener(req, res) {
      if (!isAnswered(req)) return void req.destroy()
      open += 1
      res.once('close', () => {
        open -= 1
        if (open > 0) return
        for (const resolve of onEnded) resolve()
        onEnded = []
      })
      listener(req, res)
    },
    only(next) {
      isAnswered = next
    },
    ended: () => (open === 0 ? Promise.resolve() : new Promise(resolve => onEnded.push(resolve))),
  }
}
