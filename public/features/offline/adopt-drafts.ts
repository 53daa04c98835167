/** Takes over the drafts that an earlier version stored, which knew one person. */
import type { JsonStorage } from '../../platform.ts'

/** Once: what this person has written since stays. `device`: where they were; `drafts`: of this person. */
export const adoptDrafts = (device: JsonStorage, drafts: JsonStorage): void => {
  for (const key of ['draft', 'draft-beside', 'unsaved-drafts']) {
    const before = device.read<unknown>(key, null)
    if (before === null || drafts.read(key, null) !== null) continue
    drafts.write(key, before)
    device.write(key, null)
  }
}
