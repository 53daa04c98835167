/** Counts the open responses of a server that is to stop: its listener stays open for questions about its state until they have ended. */
import type { IncomingMessage } from 'node:http'
import type { Listener } from './http.ts'

export class Drain {
  readonly #listener: Listener
  #open = 0
  #isAnswered = (_req: IncomingMessage): boolean => true
  #onEnded: (() => void)[] = []

  constructor(listener: Listener) {
    this.#listener = listener
  }

  /** In place of the listener: counts what is open. */
  readonly serve: Listener = (req, res) => {
    if (!this.#isAnswered(req)) return void req.destroy()
    this.#open += 1
    res.once('close', () => {
      this.#open -= 1
      if (this.#open > 0) return
      for (const resolve of this.#onEnded) resolve()
      this.#onEnded = []
    })
    this.#listener(req, res)
  }

  /** From now on only these requests are answered; the connection of any other ends without a byte, as if nothing listened. */
  only(next: (req: IncomingMessage) => boolean): void {
    this.#isAnswered = next
  }

  /** Resolves once no response is open. */
  ended(): Promise<void> {
    return this.#open === 0
      ? Promise.resolve()
      : new Promise(resolve => this.#onEnded.push(resolve))
  }
}
