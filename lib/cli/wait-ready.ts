/** `agent-webui doctor --wait`: 0 as soon as the service of this state directory answers, 1 when it does not in time. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { fetchHealth, urlOf } from '../preflight.ts'
import { announcedAddress } from './check-start.ts'
import type { Terminal } from './terminal.ts'

const EVERY_MS = 250
const ANSWER_MS = 2_000

/** Asks at least once, also with 0 seconds. */
export const waitForService = async (
  config: Config,
  seconds: number,
  terminal: Terminal,
): Promise<number> => {
  const end = performance.now() + seconds * 1_000
  for (;;) {
    // The note names the port that the system chose; without one the configured address is meant.
    const address = announcedAddress(config) ?? urlOf(config, config.port)
    const status = await fetchHealth(address, ANSWER_MS).catch(() => null)
    if (status === 200) {
      terminal.out(`The service answers at ${address}\n`)
      await terminal.drain()
      return 0
    }
    if (performance.now() + EVERY_MS > end) {
      const why = status === null ? 'does not answer' : `answers with status ${status}`
      terminal.note(`The service at ${address} ${why}`)
      await terminal.drain()
      return 1
    }
    await delay(EVERY_MS)
  }
}
