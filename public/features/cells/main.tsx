/** Entry point of the pages of a forwarder: the list of someone's cells, or a sentence that says why one cannot be opened. */
import { render } from 'preact'
import { systemClock } from '../../../lib/base/clock.ts'
import { createServerClock } from '../../parts/server-clock.ts'
import { loadLanguage } from '../../strings/load-texts.ts'
import { t } from '../../strings/t.ts'
import { Cells } from './cells-state.ts'
import type { ListedCell } from '../../../lib/schema/cell.ts'
import { CellsView } from './cells-view.tsx'

const RETRY_MS = 5_000

const root = document.getElementById('cells')!
const { cells, person = '', retry } = root.dataset
const base = document.baseURI

// After a sentence, what was asked for is tried again.
if (retry) systemClock.timer(RETRY_MS, () => location.reload())
if (cells) {
  const { lang, dataset } = document.documentElement
  await loadLanguage(lang, new URL('forward/', base).href, dataset.texts)
  const state = new Cells({
    base,
    person,
    first: JSON.parse(cells) as ListedCell[],
    fetch: (...args) => fetch(...args),
    clock: createServerClock(systemClock),
    isHidden: () => document.hidden,
    unreachable: () => t('error.server'),
    onGone: () => location.reload(),
  })
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) void state.readList()
  })
  render(<CellsView state={state} />, root)
}
