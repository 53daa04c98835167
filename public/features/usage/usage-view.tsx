/** The usage view: totals, the chart by day, and tables by model, profile, and source. */
import { pageLocale } from '../../strings/t.ts'
import { useEffect } from 'preact/hooks'
import type { ComponentChildren } from 'preact'
import { Button } from '../../parts/button.tsx'
import { cachedPercent, formatCost, formatTokens } from '../../parts/amounts.ts'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { EmptyNote, LoadNote } from '../../parts/view-state.tsx'
import { USAGE_DAYS, type UsageDays } from '../shell/route.ts'
import { type DailyUsage, formatDay, type Measure, type Report, usageOf } from './usage.ts'
import { enUsage, t } from './strings.ts'
import { useApp } from '../shell/context.ts'
import { View } from '../shell/view.tsx'
import { DayChart } from './day-chart.tsx'

const Sum = ({ label, children }: { label: string; children: ComponentChildren }) => (
  <div class="sum">
    <dt>{label}</dt>
    <dd>{children}</dd>
  </div>
)

/** Tokens without a known price have no cost to show. */
const costOf = ({ estimated_cost, total_tokens }: Omit<DailyUsage, 'date'>): string =>
  estimated_cost === 0 && total_tokens > 0 ? '—' : formatCost(estimated_cost)

/** Most providers report no cached tokens. */
const cachedOf = (usage: Omit<DailyUsage, 'date'>): string => {
  const percent = cachedPercent(usage)
  return percent === null ? '—' : (percent / 100).toLocaleString(pageLocale(), { style: 'percent' })
}

const Totals = ({ totals }: Pick<Report, 'totals'>) => (
  <dl class="sums">
    <Sum label={t('usage.input')}>{formatTokens(totals.input_tokens)}</Sum>
    <Sum label={t('usage.cached')}>{cachedOf(totals)}</Sum>
    <Sum label={t('usage.output')}>{formatTokens(totals.output_tokens)}</Sum>
    <Sum label={t('usage.cost')}>{costOf(totals)}</Sum>
    <Sum label={t('usage.turns')}>{totals.turns.toLocaleString(pageLocale())}</Sum>
    <Sum label={t('usage.sessions')}>{totals.sessions.toLocaleString(pageLocale())}</Sum>
  </dl>
)

type UsageLine = Omit<DailyUsage, 'date'> & { key: string; name: string; hint?: string }
type TableProps = { title: string; head: string; lines: readonly UsageLine[]; measure: Measure }

const measured = (line: Omit<DailyUsage, 'date'>, measure: Measure): number =>
  measure === 'cost' ? line.estimated_cost : line.total_tokens

const Cells = ({ line }: { line: Omit<DailyUsage, 'date'> }) => (
  <>
    <td>{line.turns.toLocaleString(pageLocale())}</td>
    <td>{formatTokens(line.input_tokens)}</td>
    <td>{cachedOf(line)}</td>
    <td>{formatTokens(line.output_tokens)}</td>
    <td>{costOf(line)}</td>
  </>
)

const Heads = ({ first }: { first: string }) => (
  <thead>
    <tr>
      <th scope="col">{first}</th>
      <th scope="col">{t('usage.turns')}</th>
      <th scope="col">{t('usage.input')}</th>
      <th scope="col">{t('usage.cached')}</th>
      <th scope="col">{t('usage.output')}</th>
      <th scope="col">{t('usage.cost')}</th>
    </tr>
  </thead>
)

const Table = ({ title, head, lines, measure }: TableProps) => {
  const most = Math.max(...lines.map(line => measured(line, measure)), 0)
  return (
    <section class="usage-part">
      <h2>{title}</h2>
      <ScrollBox class="usage-scroll" label={title}>
        <table class="usage-table">
          <Heads first={head} />
          <tbody>
            {lines.map(line => (
              <tr key={line.key}>
                <th scope="row">
                  <span class="usage-name">
                    {line.name}
                    {line.hint && <span class="faint">{line.hint}</span>}
                  </span>
                  <span
                    class="usage-bar"
                    style={{
                      width: `${most > 0 ? (100 * measured(line, measure)) / most : 0}%`,
                    }}
                  />
                </th>
                <Cells line={line} />
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
    </section>
  )
}

const sourceName = (source: string): string => {
  const key = `source.${source}` as keyof typeof enUsage & `source.${string}`
  return key in enUsage ? t(key) : source
}

const Days = ({ daily }: Pick<Report, 'daily'>) => (
  <details class="usage-days">
    <summary>{t('usage.table')}</summary>
    <ScrollBox class="usage-scroll" label={t('usage.table')}>
      <table class="usage-table">
        <Heads first={t('usage.day')} />
        <tbody>
          {daily.toReversed().map(day => (
            <tr key={day.date}>
              <th scope="row">{formatDay(day.date, { dateStyle: 'medium' })}</th>
              <Cells line={day} />
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  </details>
)

const MEASURES: readonly Measure[] = ['tokens', 'cost']

const ReportView = ({ report }: { report: Report }) => {
  const app = useApp()
  const usage = usageOf(app)
  const measure = usage.measure.value
  if (report.totals.turns + report.totals.total_tokens === 0) {
    return <EmptyNote title={t('usage.empty')} text={t('usage.empty.text')} />
  }
  return (
    <>
      <Totals totals={report.totals} />
      <section class="usage-part">
        <header class="usage-part-head">
          <h2>{t('usage.chart')}</h2>
          <fieldset class="segments">
            <legend class="sr-only">{t('usage.show')}</legend>
            {MEASURES.map(name => (
              <button
                key={name}
                type="button"
                class="segment"
                aria-pressed={measure === name}
                onClick={() => {
                  usage.measure.value = name
                }}
              >
                {t(`usage.${name}`)}
              </button>
            ))}
          </fieldset>
        </header>
        <DayChart daily={report.daily} measure={measure} />
        <Days daily={report.daily} />
      </section>
      <Table
        title={t('usage.models')}
        head={t('usage.model')}
        measure={measure}
        lines={report.models.map(({ model, provider, ...line }) => ({
          ...line,
          key: `${provider} ${model}`,
          name: model || t('usage.unknown'),
          hint: provider,
        }))}
      />
      <Table
        title={t('usage.profiles')}
        head={t('usage.profile')}
        measure={measure}
        lines={report.profiles.map(({ profile, ...line }) => ({
          ...line,
          key: profile,
          name: profile,
        }))}
      />
      <Table
        title={t('usage.sources')}
        head={t('usage.source')}
        measure={measure}
        lines={report.sources.map(({ source, ...line }) => ({
          ...line,
          key: source,
          name: sourceName(source),
        }))}
      />
      <p class="field-hint">{t('usage.foot', { zone: report.timezone })}</p>
    </>
  )
}

export const UsageView = ({ days }: { days: UsageDays }) => {
  const app = useApp()
  const usage = usageOf(app)
  const report = usage.report.value
  useEffect(() => void usage.load(days), [days])
  return (
    <View
      title={t('usage.title')}
      lead={t('usage.lead')}
      actions={
        <Button icon="download" onClick={() => usage.exportCsv(days)}>
          {t('usage.csv')}
        </Button>
      }
    >
      <nav class="segments" aria-label={t('usage.range')}>
        {USAGE_DAYS.map(count => (
          <a
            key={count}
            class="segment"
            href={app.shell.route.hrefOf({ view: 'usage', days: count })}
            aria-current={count === days ? 'page' : undefined}
          >
            {t('usage.days', { count })}
          </a>
        ))}
      </nav>
      {report ? (
        <ReportView report={report} />
      ) : (
        <LoadNote
          state={usage.state.value}
          failed={t('usage.failed')}
          onRetry={() => void usage.load(days)}
        />
      )}
    </View>
  )
}
