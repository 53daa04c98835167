/** The image of a container: downloaded when it is missing, once for all who need it. */
import { sentence } from '../../base/sentences.ts'
import { type Clock, toSeconds } from '../../base/clock.ts'
import { conflict, messageOf, unavailable } from '../../errors.ts'
import { type EngineCli, isMissingImage, reasonIn } from './engine.ts'

/** How long a command waits for a download. */
const WAIT_MS = 20_000
const PULL_TIMEOUT_MS = 60 * 60_000

type Pull = { done: Promise<void>; startedAt: number }

export class Images {
  readonly #clock: Clock
  readonly #log: (line: string) => void
  readonly #pulls = new Map<string, Pull>()
  readonly #closing = new AbortController()

  constructor(clock: Clock, log: (line: string) => void) {
    this.#clock = clock
    this.#log = log
  }

  async #pull(cli: EngineCli, image: string): Promise<void> {
    this.#log(`downloading the container image ${image}`)
    const result = await cli.run(['pull', '--quiet', image], PULL_TIMEOUT_MS, this.#closing.signal)
    if (result.code !== 0)
      throw unavailable(sentence('container.no_image', { image, reason: reasonIn(result.stderr) }))
    this.#log(`downloaded the container image ${image}`)
  }

  #start(cli: EngineCli, image: string): Pull {
    const key = `${cli.program} ${image}`
    const running = this.#pulls.get(key)
    if (running) return running
    const started: Pull = {
      done: this.#pull(cli, image).finally(() => this.#pulls.delete(key)),
      startedAt: this.#clock.monotonic(),
    }
    // A command that waits no longer reads the reason with its next attempt.
    started.done.catch((error: unknown) => this.#log(messageOf(error)))
    this.#pulls.set(key, started)
    return started
  }

  /** Ends the downloads. */
  close(): void {
    this.#closing.abort()
  }

  /** Resolves when the image is here. Rejects with a sentence while a long download runs, and when it failed. */
  async require(cli: EngineCli, image: string): Promise<void> {
    const result = await cli.run(['image', 'inspect', '--format', '{{.Id}}', image])
    if (result.code === 0) return
    if (!isMissingImage(result.stderr))
      throw unavailable(
        sentence('container.image_unreadable', { image, reason: reasonIn(result.stderr) }),
      )
    const { done, startedAt } = this.#start(cli, image)
    const late = Promise.withResolvers<never>()
    const cancel = this.#clock.timer(WAIT_MS, () => {
      const seconds = Math.round(toSeconds(this.#clock.monotonic() - startedAt))
      late.reject(conflict(sentence('container.downloading', { image, seconds })))
    })
    try {
      await Promise.race([done, late.promise])
    } finally {
      cancel()
    }
  }
}
