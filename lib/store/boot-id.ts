/** One boot of the machine: what was written without fsync is trusted only within it, or after a clean end. */
import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'

export const bootId = (): string => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // Not Linux: the minute of the boot.
    return `start-${Math.round((Date.now() / 1000 - uptime()) / 60)}`
  }
}
