/** `agent-webui doctor --wait`: exits with 0 once the server of this state directory responds, with 1 on timeout. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { fetchHealth, urlOf } from '../preflight.ts'
import { announcedAddress } from './check-start.ts'
import type { Terminal } from './terminal.ts'

const POLL_MS = 250
const ANSWER_MS = 2_000

/** Polls at least once, also with 0 seconds. */
export const waitForService = async (
  config: Config,
  seconds: number,
  terminal: Terminal,
): Promise<number> => {
  const end = performance.now() + seconds * 1_000
  for (;;) {
    // instance.json has the port when the system chose it. Without one, use the configured address.
    const address = announcedAddress(config) ?? urlOf(config, config.port)
    const status = await fetchHealth(address, ANSWER_MS).catch(() => null)
    if (status === 200) {
      terminal.out(`The server responds at ${address}\n`)
      await terminal.drain()
      return 0
    }
    if (performance.now() + POLL_MS > end) {
      const why = status === null ? 'does not respond' : `responds with status ${status}`
      terminal.note(`The server at ${address} ${why}`)
      await terminal.drain()
      return 1
    }
    await delay(POLL_MS)
  }
}
