/** Lazily loaded parts of the bar below the text, in one chunk. */
export { ContextMeter } from '../compaction/context-meter.tsx'
export { PlanChip } from '../plan/plan-chip.tsx'
export { DictateButton } from './dictate-button.tsx'
