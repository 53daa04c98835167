/** One look for updates in a tab's life, and a word when there is one. */
import type { Platform } from '../../platform.ts'

export const lookOnce = async (options: {
  platform: Pick<Platform, 'api' | 'tab'>
  enabled: boolean
  simulate: boolean
  tell: () => void
}): Promise<void> => {
  const { platform, enabled, simulate, tell } = options
  if (!enabled || platform.tab.read('update-checked', false)) return
  platform.tab.write('update-checked', true)
  try {
    const found = await platform.api('GET /api/updates/check', simulate ? { simulate: '1' } : {})
    if ([found.webui, found.agent].some(each => (each?.behind ?? 0) > 0)) tell()
  } catch {
    // Nobody asked for it, so nobody needs to hear that it failed.
  }
}
