/** THE table: every path of the service, one line each. Boots when it is run directly. */
import * as approvals from './handlers/approvals.ts'
import * as auth from './handlers/auth.ts'
import * as chat from './handlers/chat.ts'
import * as events from './handlers/events.ts'
import * as files from './handlers/files.ts'
import * as health from './handlers/health.ts'
import * as models from './handlers/models.ts'
import * as pages from './handlers/pages.ts'
import * as personalities from './handlers/personalities.ts'
import * as profiles from './handlers/profiles.ts'
import * as transfer from './handlers/session-transfer.ts'
import * as sessions from './handlers/sessions.ts'
import * as settings from './handlers/settings.ts'
import * as workspaces from './handlers/workspaces.ts'
import { createApp, placeSqlite } from './lib/app.ts'
import type { ApiOf, RouteTable } from './lib/http/endpoint.ts'
import { start } from './lib/start.ts'

export const routes = {
  'GET /': pages.shell,
  'GET /index.html': pages.shell,
  'GET /settings': pages.shell,
  'GET /login': pages.login,
  'GET /favicon.ico': pages.favicon,

  'GET /health': health.health,
  'GET /api/openapi.json': health.openapi,

  'GET /api/auth/status': auth.status,
  'POST /api/auth/login': auth.login,
  'POST /api/auth/logout': auth.logout,
  'GET /api/auth/devices': auth.devices,
  'POST /api/auth/revoke': auth.revoke,

  'GET /api/settings': settings.get,
  'POST /api/settings': settings.save,
  'GET /api/reasoning': settings.getReasoning,
  'POST /api/reasoning': settings.setReasoning,
  'POST /api/default-model': settings.setDefault,
  'GET /api/models': models.list,
  'GET /api/personalities': personalities.list,
  'POST /api/personality/set': personalities.set,
  'GET /api/profile/active': profiles.active,

  'GET /api/workspaces': workspaces.list,
  'POST /api/workspaces/add': workspaces.add,
  'POST /api/workspaces/remove': workspaces.remove,
  'POST /api/workspaces/rename': workspaces.rename,
  'GET /api/workspaces/suggest': workspaces.suggest,
  'GET /api/list': files.list,

  'GET /api/sessions': sessions.list,
  'GET /api/sessions/search': sessions.search,
  'POST /api/sessions/cleanup': sessions.cleanup,
  'POST /api/sessions/cleanup_zero_message': sessions.cleanupEmpty,
  'GET /api/session': sessions.get,
  'GET /api/session/message': sessions.message,
  'GET /api/session/status': sessions.status,
  'GET /api/session/usage': sessions.usage,
  'GET /api/session/export': transfer.exportSession,
  'POST /api/session/import': transfer.importSession,
  'POST /api/session/new': sessions.create,
  'POST /api/session/rename': sessions.rename,
  'POST /api/session/update': sessions.update,
  'POST /api/session/delete': sessions.remove,
  'POST /api/session/restore': sessions.restore,
  'POST /api/session/purge': sessions.purge,
  'POST /api/session/clear': sessions.clear,
  'POST /api/session/truncate': sessions.truncate,
  'POST /api/session/retry': sessions.retry,
  'POST /api/session/undo': sessions.undo,
  'POST /api/session/pin': sessions.pin,
  'POST /api/session/archive': sessions.archive,
  'POST /api/session/duplicate': sessions.duplicate,
  'POST /api/session/branch': sessions.branch,
  'POST /api/session/draft': sessions.draft,

  'POST /api/chat/start': chat.start,
  'GET /api/chat/stream': chat.events,
  'GET /api/chat/stream/status': chat.status,
  'GET /api/chat/cancel': chat.cancel,
  'POST /api/chat/cancel': chat.cancel,
  'POST /api/chat': chat.sync,
  'GET /api/events': events.events,

  'GET /api/inbox': approvals.inbox,
  'GET /api/approval/pending': approvals.pending,
  'GET /api/approval/stream': approvals.approvalStream,
  'POST /api/approval/respond': approvals.respond,
  'GET /api/approval/inject_test': approvals.injectApproval,
  'POST /api/approval/inject_test': approvals.injectApproval,
  'GET /api/clarify/pending': approvals.clarifyPending,
  'GET /api/clarify/stream': approvals.clarifyStream,
  'POST /api/clarify/respond': approvals.clarifyRespond,
  'GET /api/clarify/inject_test': approvals.injectClarify,
  'POST /api/clarify/inject_test': approvals.injectClarify,
} satisfies RouteTable

/** Paths with one open segment at their end, and the static files. */
export const tails = {
  'GET /session/:id': pages.shell,
  'GET /settings/:section': pages.shell,
  'GET /static/*': pages.asset,
} satisfies RouteTable

export type Api = ApiOf<typeof routes>

if (import.meta.main) await start({ routes, tails, createApp, placeAddon: placeSqlite })
