/** Leaving the page would discard changes of a file or a form. Drafts of messages are not among them. */
import type { Page } from '../../app.ts'

export const hasUnsavedChanges = ({ shell: { layout }, chats }: Page): boolean =>
  layout.unsaved.size > 0 ||
  chats.all().some(({ panel }) => panel.contents.value?.openFile.dirty.value === true)
