/** Usage of the last days, in the browser's time zone. */
import { pageLocale } from '../../strings/t.ts'
import { signal } from '@preact/signals'
import type { Api } from '../../../router.ts'
import { urlOf } from '../../api.ts'
import type { Shell } from '../shell/shell-state.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import type { Loading } from '../skills/skills.ts'

export type Report = Api['GET /api/insights']['output']
export type DailyUsage = Report['daily'][number]
export type Measure = 'tokens' | 'cost'

const browserZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

/** A date without a time has no zone; format it in UTC so that it does not shift. */
export const formatDay = (
  date: string,
  options: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short' },
  locale = pageLocale(),
): string =>
  new Date(`${date}T00:00:00Z`).toLocaleDateString(locale, { ...options, timeZone: 'UTC' })

/** The next 1, 2, or 5 times a power of ten. */
export const niceCeiling = (value: number): number => {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find(step => value <= step * power) ?? 10) * power
}

export const createUsage = (
  { api, base, navigate, toasts }: Pick<Shell, 'api' | 'base' | 'navigate' | 'toasts'>,
  zone = browserZone(),
) => {
  const report = signal<Report | null>(null)
  const state = signal<Loading>('loading')
  const measure = signal<Measure>('tokens')
  let latest = 0
  return {
    report,
    state,
    measure,
    async load(days: number): Promise<void> {
      latest += 1
      const own = latest
      try {
        const reply = await api('GET /api/insights', { days, timezone: zone })
        // Another range may have been selected during the request.
        if (own !== latest) return
        report.value = reply
        state.value = 'ready'
      } catch (error) {
        if (!report.value) state.value = 'failed'
        toasts.showError(error)
      }
    },
    exportCsv(days: number): void {
      navigate(urlOf(base, 'api/insights', { days, format: 'csv', timezone: zone }), {
        download: true,
      })
    },
  }
}

export const usageOf = lazyState(app => createUsage(app.shell))
