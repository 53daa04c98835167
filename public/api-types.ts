/** What the page uses of the service, until it can be taken from the route table itself. */
import type { Settings } from './state/settings.ts'
import type { Message } from '../lib/schema/message.ts'
import type { Draft, Session, SessionRow } from '../lib/schema/session.ts'

type Id = { session_id: string }
type Call<I, O> = { input: I; output: O }
export type Reasoning = { show_reasoning: boolean; reasoning_effort: string }
export type ModelGroup = {
  provider: string
  provider_id: string
  models: { id: string; label: string; context_length?: number }[]
}
export type Workspace = { path: string; name: string }
export type FileEntry = { name: string; path: string; type: 'dir' | 'file'; size: number | null }
export type SearchHit = SessionRow & {
  match_type?: 'title' | 'content'
  snippet?: { text: string; mark: boolean }[]
  message_id?: string
}
export type SettingsReply = Settings & { auth_enabled: boolean; default_model: string }

export type Api = {
  'GET /api/settings': Call<undefined, SettingsReply & { webui_version: string }>
  'POST /api/settings': Call<
    Record<string, unknown>,
    SettingsReply & { logged_in: boolean; ignored?: string[] }
  >
  'GET /api/reasoning': Call<undefined, Reasoning>
  'POST /api/reasoning': Call<{ effort?: string; display?: string }, Reasoning>
  'POST /api/default-model': Call<{ model: string }, { ok: true; model: string }>
  'GET /api/models': Call<
    undefined,
    { active_provider: string | null; default_model: string; groups: ModelGroup[] }
  >
  'GET /api/personalities': Call<
    undefined,
    { personalities: { name: string; description: string }[] }
  >
  'POST /api/personality/set': Call<
    Id & { name: string },
    { ok: true; personality: string | null; prompt: string }
  >
  'GET /api/workspaces': Call<undefined, { workspaces: Workspace[]; last: string }>
  'POST /api/workspaces/add': Call<
    { path: string; name?: string },
    { ok: true; workspaces: Workspace[] }
  >
  'GET /api/workspaces/suggest': Call<{ prefix: string }, { suggestions: string[]; prefix: string }>
  'GET /api/list': Call<Id & { path?: string }, { entries: FileEntry[]; path: string }>
  'GET /api/profile/active': Call<undefined, { name: string; path: string }>
  'GET /api/sessions': Call<
    { limit?: number; cursor?: string },
    { sessions: SessionRow[]; cli_count: number; next?: string | null; cursor?: string }
  >
  'GET /api/session': Call<Id & { limit?: number; before?: string }, { session: Session }>
  'GET /api/session/message': Call<Id & { id: string }, { message: Message }>
  'GET /api/sessions/search': Call<
    { q: string; content?: string; limit?: number },
    { sessions: SearchHit[] }
  >
  'POST /api/session/new': Call<
    { workspace?: string; model?: string; profile?: string },
    { session: SessionRow }
  >
  'POST /api/session/rename': Call<Id & { title: string }, { session: SessionRow }>
  'POST /api/session/update': Call<
    Id & { workspace?: string; model?: string },
    { session: SessionRow }
  >
  'POST /api/session/delete': Call<Id, { ok: true }>
  'POST /api/session/restore': Call<Id, { ok: true }>
  'POST /api/session/purge': Call<Id, { ok: true }>
  'POST /api/session/clear': Call<Id, { ok: true; session: SessionRow }>
  'POST /api/session/truncate': Call<Id & { keep_count: number }, { ok: true; session: SessionRow }>
  'POST /api/session/retry': Call<
    Id,
    { ok?: true; last_user_text?: string; removed_count?: number; error?: string }
  >
  'POST /api/session/undo': Call<
    Id,
    { ok?: true; removed_count?: number; removed_preview?: string; error?: string }
  >
  'POST /api/session/pin': Call<Id & { pinned: boolean }, { ok: true; session: SessionRow }>
  'POST /api/session/archive': Call<Id & { archived: boolean }, { ok: true; session: SessionRow }>
  'POST /api/session/duplicate': Call<Id, { session: SessionRow }>
  'POST /api/session/branch': Call<
    Id & { keep_count?: number; title?: string },
    { session_id: string; title: string; parent_session_id: string }
  >
  'POST /api/session/draft': Call<Id & Partial<Draft>, { ok: true; draft: Draft }>
  'GET /api/session/status': Call<
    Id,
    {
      session_id: string
      title: string
      model: string | null
      message_count: number
      agent_running: boolean
    }
  >
  'POST /api/chat/start': Call<
    Id & { message: string; attachments?: string[]; workspace?: string; model?: string },
    { stream_id: string; session_id: string; effective_model?: string }
  >
  'POST /api/chat/cancel': Call<
    { stream_id: string },
    { ok: true; cancelled: boolean; stream_id: string }
  >
  'POST /api/approval/respond': Call<
    Id & { choice: string; approval_id?: string },
    { ok: true; choice: string }
  >
  'POST /api/clarify/respond': Call<
    Id & { response: string; clarify_id?: string },
    { ok: true; response: string }
  >
  'GET /api/auth/status': Call<undefined, { auth_enabled: boolean; logged_in: boolean }>
  'POST /api/auth/login': Call<{ password: string }, { ok: true }>
  'POST /api/auth/logout': Call<undefined, { ok: true }>
}
