/** Usage of the last days, in the browser's time zone. */
import { pageLocale } from '../../strings/t.ts'
import { signal } from '@preact/signals'
import type { Api } from '../../../router.ts'
import { urlOf } from '../../api.ts'
import type { Shell } from '../shell/shell-state.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import type { LoadState } from '../../parts/load-state.ts'

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

export class UsageState {
  readonly #shell: Shell
  readonly #zone: string
  readonly report = signal<Report | null>(null)
  readonly state = signal<LoadState>('loading')
  readonly measure = signal<Measure>('tokens')
  #latest = 0

  constructor(shell: Shell, zone = browserZone()) {
    this.#shell = shell
    this.#zone = zone
  }

  async load(days: number): Promise<void> {
    const { api, toasts } = this.#shell
    this.#latest += 1
    const own = this.#latest
    try {
      const reply = await api('GET /api/insights', { days, timezone: this.#zone })
      // Another range may have been selected during the request.
      if (own !== this.#latest) return
      this.report.value = reply
      this.state.value = 'ready'
    } catch (error) {
      if (!this.report.value) this.state.value = 'failed'
      toasts.showError(error)
    }
  }

  exportCsv(days: number): void {
    const { navigate, base } = this.#shell
    navigate(urlOf(base, 'api/insights', { days, format: 'csv', timezone: this.#zone }), {
      download: true,
    })
  }
}

export const usageOf = lazyState(app => new UsageState(app.shell))
