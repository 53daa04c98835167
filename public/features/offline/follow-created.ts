import type { Page } from '../../app.ts'

/** Another page has created the session of this new chat, which both show: the tab was duplicated. */
export const followCreated = (
  { chats, panes }: Pick<Page, 'chats' | 'panes'>,
  key: string,
  id: string,
): void => {
  const chat = chats.all().find(each => each.key === key && !each.sessionId.peek())
  if (!chat) return
  chat.begin(id, false)
  for (const pane of panes.peek()) pane.created(chat)
}
