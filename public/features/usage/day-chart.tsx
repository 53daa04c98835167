/** A bar chart by day: input and output tokens stacked, or cost. The selected day is described in text. */
import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { formatCost, formatTokens } from '../../parts/amounts.ts'
import { type DailyUsage, formatDay, type Measure, niceCeiling } from './usage.ts'
import { t } from './strings.ts'

/** For "200.000", or "200 ألف". */
const LEFT = 60
const BOTTOM = 22
const TOP = 8
/** For a date on the axis. */
const DATE_PX = 90
const NARROW_PX = 480

const partsOf = (day: DailyUsage, measure: Measure): [value: number, kind: string][] =>
  measure === 'cost'
    ? [[day.estimated_cost, 'chart-out']]
    : [
        [day.input_tokens, 'chart-in'],
        [day.output_tokens, 'chart-out'],
      ]

const Readout = ({ day, measure }: { day: DailyUsage | undefined; measure: Measure }) => (
  <p class="chart-readout" role="status">
    {day && (
      <>
        <strong>{formatDay(day.date, { weekday: 'short', day: 'numeric', month: 'short' })}</strong>
        {measure === 'cost' ? (
          <span>{formatCost(day.estimated_cost)}</span>
        ) : (
          <>
            <span class="chart-key chart-key-in">
              {t('usage.input')} {formatTokens(day.input_tokens)}
            </span>
            <span class="chart-key chart-key-out">
              {t('usage.output')} {formatTokens(day.output_tokens)}
            </span>
          </>
        )}
      </>
    )}
  </p>
)

export type DayChartProps = { daily: readonly DailyUsage[]; measure: Measure }

export const DayChart = ({ daily, measure }: DayChartProps) => {
  const box = useRef<HTMLDivElement>(null)
  /** Drawn in the displayed size, because scaling would scale the text too. */
  const shownWidth = useSignal(NARROW_PX)
  useLayoutEffect(() => {
    const draw = (width: number) => {
      shownWidth.value = Math.max(LEFT * 4, Math.round(width))
    }
    const observer = new ResizeObserver(([entry]) => {
      if (entry) draw(entry.contentRect.width)
    })
    if (box.current) {
      // The observer is first called after what is below was painted.
      draw(box.current.clientWidth)
      observer.observe(box.current)
    }
    return () => observer.disconnect()
  }, [])
  const active = useSignal<number | null>(null)
  const last = daily.length - 1
  const at = Math.min(active.value ?? last, last)
  const total = (day: DailyUsage) => partsOf(day, measure).reduce((sum, [value]) => sum + value, 0)
  const most = Math.max(...daily.map(total))
  const top = niceCeiling(most)
  // Without a value there is no scale to show; half a token is none.
  const marks = most <= 0 ? [0] : measure === 'tokens' && top < 2 ? [0, 1] : [0, 0.5, 1]
  const size = { width: shownWidth.value, height: shownWidth.value < NARROW_PX ? 190 : 240 }
  const height = size.height - TOP - BOTTOM
  const step = (size.width - LEFT) / daily.length
  const width = Math.max(2, Math.min(28, step * 0.72))
  const every = Math.ceil(daily.length / Math.floor(size.width / DATE_PX))
  const format = measure === 'cost' ? formatCost : formatTokens
  return (
    <div ref={box} class="chart">
      <Readout day={daily[at]} measure={measure} />
      <div
        class="chart-frame"
        role="slider"
        tabIndex={0}
        aria-label={t('usage.chart.label', { what: t(`usage.${measure}`) })}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={at}
        aria-valuetext={
          daily[at] ? `${formatDay(daily[at].date)}: ${format(total(daily[at]))}` : ''
        }
        onKeyDown={event => {
          const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key]
          if (to === undefined) return
          event.preventDefault()
          active.value = Math.max(0, Math.min(last, to))
        }}
        onPointerMove={event => {
          const box = event.currentTarget.getBoundingClientRect()
          const x = ((event.clientX - box.left) / box.width) * size.width - LEFT
          active.value = Math.max(0, Math.min(last, Math.floor(x / step)))
        }}
        onPointerLeave={() => {
          active.value = null
        }}
      >
        <svg viewBox={`0 0 ${size.width} ${size.height}`} aria-hidden="true" focusable="false">
          {marks.map(part => {
            const y = TOP + height * (1 - part)
            return (
              <g key={part}>
                <line class="chart-line" x1={LEFT} x2={size.width} y1={y} y2={y} />
                <text class="chart-text" x={LEFT - 8} y={y + 4} text-anchor="end">
                  {format(top * part)}
                </text>
              </g>
            )
          })}
          {daily.map((day, index) => {
            const x = LEFT + step * index + (step - width) / 2
            let y = TOP + height
            return (
              <g key={day.date} class={index === at ? 'chart-day chart-active' : 'chart-day'}>
                {partsOf(day, measure).map(([value, kind]) => {
                  const long = (value / top) * height
                  y -= long
                  return <rect key={kind} class={kind} x={x} y={y} width={width} height={long} />
                })}
                {(last - index) % every === 0 && (
                  <text
                    class="chart-text"
                    x={x + width / 2}
                    y={size.height - 4}
                    text-anchor={index === last ? 'end' : 'middle'}
                  >
                    {formatDay(day.date)}
                  </text>
                )}
              </g>
            )
          })}
        </svg>
      </div>
    </div>
  )
}
