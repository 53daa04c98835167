/** Lazily loaded parts of the composer, in one chunk. */
export { ContextMeter } from '../compaction/context-meter.tsx'
export { PlanChip } from '../plan/plan-chip.tsx'
export { DictateButton } from './dictate-button.tsx'
export { DropArea } from './drop-area.tsx'
