/** Lazily loaded parts of the composer, in one chunk. */
export { ContextMeter } from '../compaction/context-meter.tsx'
export { ModeChip } from './mode-chip.tsx'
export { DictateButton } from './dictate-button.tsx'
export { DropArea } from './drop-area.tsx'
