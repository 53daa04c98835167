/** Checks for updates once per tab, and notifies when there is one. */
import type { Platform } from '../../platform.ts'

export const checkForUpdatesOnce = async (options: {
  platform: Platform
  enabled: boolean
  simulate: boolean
  notify: () => void
}): Promise<void> => {
  const { platform, enabled, simulate, notify } = options
  if (!enabled || platform.tab.read('update-checked', false)) return
  platform.tab.write('update-checked', true)
  try {
    const reply = await platform.api('GET /api/updates/check', simulate ? { simulate: '1' } : {})
    if ([reply.webui, reply.agent].some(each => (each?.behind ?? 0) > 0)) notify()
  } catch {
    // A background check fails silently.
  }
}
