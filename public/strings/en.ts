/** English text of the first page load. Features that load later bring their own catalogs (`strings.ts`). */
import { enApp } from './en/app.ts'
import { enChat } from './en/chat.ts'
import { enSessions } from './en/sessions.ts'

export const en = { ...enApp, ...enSessions, ...enChat } as const
