/** English text of the menu of a chat; loaded with it and with the palette. */
import { translator } from '../../strings/t.ts'

export const t = translator('sessions.menu', {
  'row.rename': 'Rename',
  'row.unarchive': 'Unarchive',
  'row.duplicate': 'Duplicate',
  'row.branch': 'Branch',
  'row.share': 'Share…',
  'row.notify': 'Notifications…',
  'row.export': 'Export',
  'row.export.md': 'Export as Markdown',
  'row.export.json': 'Export as JSON',
  'row.export.html': 'Export as HTML',
  'row.clear': 'Clear messages',
  'row.delete.permanent': 'Delete permanently',
})
