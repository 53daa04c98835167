/** `agent-webui doctor --wait`: exits with 0 once the server of this state directory responds, with 1 on timeout. */
import type { Clock } from '../base/clock.ts'
import type { Config } from '../config.ts'
import { fetchHealth, urlOf } from '../operations/preflight.ts'
import { announcedAddress } from './check-start.ts'
import type { Terminal } from './terminal.ts'

const POLL_MS = 250
const ANSWER_MS = 2_000

/** Polls at least once, also with 0 milliseconds. */
export const waitForService = async (
  config: Config,
  ms: number,
  { clock, terminal }: { clock: Clock; terminal: Terminal },
): Promise<number> => {
  const end = clock.monotonic() + ms
  for (;;) {
    // instance.json has the port when the system chose it. Without one, use the configured address.
    const address = announcedAddress(config) ?? urlOf(config, config.port)
    const status = await fetchHealth(address, ANSWER_MS).catch(() => null)
    if (status === 200) {
      terminal.out(`The server responds at ${address}\n`)
      await terminal.drain()
      return 0
    }
    if (clock.monotonic() + POLL_MS > end) {
      const why = status === null ? 'does not respond' : `responds with status ${status}`
      terminal.note(`The server at ${address} ${why}`)
      await terminal.drain()
      return 1
    }
    await clock.delay(POLL_MS)
  }
}
