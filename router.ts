/** The route table: one line per endpoint. Starts the server when run directly. */
import * as apiTokens from './handlers/api-tokens.ts'
import * as approvals from './handlers/approvals.ts'
import * as auth from './handlers/auth.ts'
import * as backups from './handlers/backups.ts'
import * as chat from './handlers/chat.ts'
import * as clientApi from './handlers/client-api.ts'
import * as crons from './handlers/crons.ts'
import * as budgets from './handlers/budgets.ts'
import * as commands from './handlers/commands.ts'
import * as mentions from './handlers/mentions.ts'
import * as ownFiles from './handlers/own-files.ts'
import * as compression from './handlers/compression.ts'
import * as config from './handlers/config.ts'
import * as events from './handlers/events.ts'
import * as externalAgent from './handlers/external-agent.ts'
import * as files from './handlers/files.ts'
import * as gitChanges from './handlers/git-changes.ts'
import * as worktrees from './handlers/worktrees.ts'
import * as gitState from './handlers/git.ts'
import * as guards from './handlers/guards.ts'
import * as gateway from './handlers/host-sessions.ts'
import * as health from './handlers/health.ts'
import * as audit from './handlers/audit.ts'
import * as codes from './handlers/codes.ts'
import * as oidc from './handlers/oidc.ts'
import * as pairing from './handlers/pairing.ts'
import * as passkeys from './handlers/passkeys.ts'
import * as people from './handlers/people.ts'
import * as inbox from './handlers/inbox.ts'
import * as insights from './handlers/insights.ts'
import * as mcp from './handlers/mcp.ts'
import * as mcpSignIn from './handlers/mcp-sign-in.ts'
import * as media from './handlers/media.ts'
import * as memory from './handlers/memory.ts'
import * as models from './handlers/models.ts'
import * as onboarding from './handlers/onboarding.ts'
import * as pages from './handlers/pages.ts'
import * as personalities from './handlers/personalities.ts'
import * as pwa from './handlers/pwa.ts'
import * as processes from './handlers/processes.ts'
import * as profiles from './handlers/profiles.ts'
import * as providers from './handlers/providers.ts'
import * as imports from './handlers/imports.ts'
import * as projects from './handlers/projects.ts'
import * as transfer from './handlers/session-transfer.ts'
import * as rollback from './handlers/rollback.ts'
import * as sessions from './handlers/sessions.ts'
import * as sessionSearch from './handlers/session-search.ts'
import * as notificationAnswer from './handlers/notification-answer.ts'
import * as notifications from './handlers/notifications.ts'
import * as shares from './handlers/shares.ts'
import * as sharedPage from './handlers/shared-page.ts'
import * as settings from './handlers/settings.ts'
import * as skills from './handlers/skills.ts'
import * as proxyCheck from './handlers/proxy-check.ts'
import * as queue from './handlers/queue.ts'
import * as reasoning from './handlers/reasoning.ts'
import * as sideQuestions from './handlers/side-questions.ts'
import * as steering from './handlers/steering.ts'
import * as backgroundPrompts from './handlers/background-prompts.ts'
import * as sessionMode from './handlers/session-mode.ts'
import * as terminals from './handlers/terminals.ts'
import * as tools from './handlers/tools.ts'
import * as speak from './handlers/speak.ts'
import * as transcribe from './handlers/transcribe.ts'
import * as updates from './handlers/updates.ts'
import * as uploads from './handlers/upload.ts'
import * as workspaces from './handlers/workspaces.ts'
import { App } from './lib/app/app.ts'
import { unpackSqliteAddon } from './lib/app/data.ts'
import type { ApiOf, RouteTable } from './lib/http/endpoint.ts'
import { start } from './lib/start.ts'

export const routes = {
  'GET /': pages.homeShell,
  'GET /index.html': pages.homeShell,
  'GET /settings': pages.shell,
  'GET /tasks': pages.shell,
  'GET /profiles': pages.shell,
  'GET /skills': pages.shell,
  'GET /memory': pages.shell,
  'GET /usage': pages.shell,
  'GET /inbox': pages.shell,
  'GET /artifact': pages.artifact,
  'GET /login': pages.login,
  'GET /favicon.ico': pages.favicon,
  'GET /manifest.webmanifest': pwa.manifest,
  'GET /sw.js': pwa.worker,
  'POST /share-target': pwa.share,

  'GET /health': health.health,
  'GET /ready': health.ready,
  'GET /metrics': health.metrics,
  'GET /api/openapi.json': health.openapi,
  'GET /api/proxy-check': proxyCheck.stream,
  'POST /api/proxy-check': proxyCheck.send,

  'GET /api/auth/status': auth.status,
  'POST /api/auth/login': auth.login,
  'POST /api/auth/logout': auth.logout,
  'GET /api/auth/devices': auth.devices,
  'POST /api/auth/revoke': auth.revoke,
  'POST /api/auth/device/rename': auth.renameDevice,
  'POST /api/auth/pair/create': pairing.create,
  'GET /api/auth/pair/status': pairing.status,
  'POST /api/auth/pair/cancel': pairing.cancel,
  'POST /api/auth/pair/use': pairing.use,
  'POST /api/auth/passkeys': passkeys.list,
  'POST /api/auth/passkey/options': passkeys.options,
  'POST /api/auth/passkey/login': passkeys.login,
  'POST /api/auth/passkey/register/options': passkeys.registerOptions,
  'POST /api/auth/passkey/register': passkeys.register,
  'POST /api/auth/passkey/rename': passkeys.rename,
  'POST /api/auth/passkey/delete': passkeys.remove,
  'GET /api/auth/oidc/start': oidc.start,
  'GET /api/auth/oidc/callback': oidc.callback,
  'GET /api/auth/linked': oidc.view,
  'POST /api/auth/oidc/link': oidc.link,
  'POST /api/auth/linked/proxy': oidc.linkProxy,
  'POST /api/auth/linked/remove': oidc.unlink,
  'GET /api/people': people.list,
  'POST /api/people/invite': people.invite,
  'POST /api/people/renew': people.renew,
  'POST /api/people/change': people.change,
  'POST /api/people/remove': people.remove,
  'POST /api/people/accept': people.accept,
  'POST /api/people/accept/passkey': passkeys.joinWith,
  'POST /api/people/accept/passkey/options': passkeys.joinOptions,
  'POST /api/people/accept/provider': oidc.joinWith,
  'POST /api/people/password': people.setPassword,
  'GET /api/auth/audit': audit.list,
  'GET /api/auth/totp': codes.view,
  'POST /api/auth/totp/start': codes.start,
  'POST /api/auth/totp/enable': codes.enable,
  'POST /api/auth/totp/disable': codes.disable,
  'POST /api/auth/totp/recovery': codes.recovery,

  'GET /api/tokens': apiTokens.list,
  'POST /api/tokens/enable': apiTokens.enable,
  'POST /api/tokens/create': apiTokens.create,
  'POST /api/tokens/revoke': apiTokens.revoke,

  'GET /api/notifications': notifications.get,
  'POST /api/notifications': notifications.save,
  'GET /api/notifications/key': notifications.key,
  'POST /api/notifications/devices': notifications.addDevice,
  'POST /api/notifications/services': notifications.addService,
  'POST /api/notifications/kinds': notifications.setKinds,
  'POST /api/notifications/remove': notifications.remove,
  'POST /api/notifications/test': notifications.test,
  'GET /api/notifications/mute': notifications.muted,
  'POST /api/notifications/mute': notifications.mute,
  'POST /api/notifications/look': notifications.look,
  'POST /api/notifications/answer': notificationAnswer.answer,

  'GET /api/shares': shares.list,
  'POST /api/shares/enable': shares.enable,
  'POST /api/shares/create': shares.create,
  'POST /api/shares/revoke': shares.revoke,
  'GET /api/shares/preview': shares.preview,

  'GET /v1/models': clientApi.models,
  'POST /v1/chat/completions': clientApi.chatCompletions,
  'POST /v1/responses': clientApi.responses,
  'POST /v1/messages': clientApi.messages,
  'POST /v1/messages/count_tokens': clientApi.countTokens,

  'GET /api/settings': settings.get,
  'POST /api/settings': settings.save,
  'POST /api/settings/personal': settings.savePersonal,
  'GET /api/reasoning': reasoning.get,
  'POST /api/reasoning': reasoning.set,
  'POST /api/default-model': settings.setDefault,
  'GET /api/models': models.list,
  'GET /api/models/live': models.live,
  'GET /api/models/local': models.local,
  'POST /api/models/refresh': models.refresh,
  'GET /api/providers': providers.list,
  'POST /api/providers': providers.save,
  'POST /api/providers/delete': providers.remove,
  'POST /api/providers/test': providers.test,
  'POST /api/providers/self-hosted': providers.selfHosted,
  'POST /api/providers/address': providers.address,
  'GET /api/onboarding/status': onboarding.status,
  'POST /api/onboarding/setup': onboarding.setup,
  'POST /api/onboarding/complete': onboarding.complete,
  'POST /api/onboarding/probe': onboarding.probe,
  'GET /api/personalities': personalities.list,
  'POST /api/personality/set': personalities.set,
  'GET /api/profiles': profiles.list,
  'GET /api/profile/active': profiles.active,
  'POST /api/profile/create': profiles.create,
  'POST /api/profile/switch': profiles.change,
  'POST /api/profile/delete': profiles.remove,

  'GET /api/projects': projects.list,
  'POST /api/projects/create': projects.create,
  'POST /api/projects/rename': projects.rename,
  'POST /api/projects/delete': projects.remove,

  'GET /api/skills': skills.list,
  'GET /api/skills/content': skills.content,
  'POST /api/skills/save': skills.save,
  'POST /api/skills/delete': skills.remove,
  'POST /api/skills/toggle': skills.toggle,
  'GET /api/tools': tools.list,
  'POST /api/tools/toggle': tools.toggle,
  'POST /api/session/toolsets': tools.override,
  'GET /api/commands': commands.list,
  'GET /api/mentions': mentions.search,
  'GET /api/own-files': ownFiles.list,
  'GET /api/own-files/content': ownFiles.content,
  'POST /api/own-files/save': ownFiles.save,
  'POST /api/own-files/delete': ownFiles.remove,
  'GET /api/insights': insights.report,
  'GET /api/memory': memory.read,
  'POST /api/memory/write': memory.write,

  'GET /api/mcp/servers': mcp.list,
  'GET /api/mcp/tools': mcp.tools,
  'POST /api/mcp/test': mcp.test,
  'POST /api/mcp/oauth/start': mcpSignIn.start,
  'GET /api/mcp/oauth/callback': mcpSignIn.callback,
  'POST /api/mcp/oauth/finish': mcpSignIn.finish,
  'POST /api/mcp/oauth/cancel': mcpSignIn.cancel,
  'POST /api/mcp/oauth/sign-out': mcpSignIn.signOut,

  'GET /api/workspaces': workspaces.list,
  'POST /api/workspaces/add': workspaces.add,
  'POST /api/workspaces/remove': workspaces.remove,
  'POST /api/workspaces/rename': workspaces.rename,
  'POST /api/workspaces/reorder': workspaces.reorder,
  'GET /api/workspaces/facts': workspaces.facts,
  'GET /api/workspaces/suggest': workspaces.suggest,
  'GET /api/workspaces/folders': workspaces.folders,
  'GET /api/list': files.list,
  'GET /api/files/search': files.search,
  'GET /api/file': files.read,
  'POST /api/file/named': files.checkNames,
  'GET /api/file/raw': files.raw,
  'POST /api/file/save': files.save,
  'POST /api/file/create': files.create,
  'POST /api/file/create-dir': files.createDir,
  'POST /api/file/rename': files.rename,
  'POST /api/file/move': files.move,
  'POST /api/file/delete': files.remove,
  'POST /api/file/restore': files.restore,
  'GET /api/folder/download': files.zip,
  'POST /api/upload': uploads.upload,
  'GET /api/media': media.get,
  'GET /api/media/remote': media.remote,
  'GET /api/git-info': gitState.info,
  'GET /api/git/status': gitState.status,
  'GET /api/git/diff': gitState.diff,
  'GET /api/git/overview': gitChanges.overview,
  'GET /api/git/log': gitChanges.log,
  'GET /api/git/worktrees': worktrees.list,
  'POST /api/git/worktree/create': worktrees.create,
  'POST /api/git/worktree/update': worktrees.update,
  'POST /api/git/worktree/merge': worktrees.merge,
  'POST /api/git/worktree/remove': worktrees.remove,
  'POST /api/git/stage': gitChanges.stage,
  'POST /api/git/unstage': gitChanges.unstage,
  'POST /api/git/discard': gitChanges.discard,
  'POST /api/git/undo-discard': gitChanges.undoDiscard,
  'POST /api/git/commit': gitChanges.commit,
  'POST /api/git/switch': gitChanges.switchBranch,
  'POST /api/git/fetch': gitChanges.fetchRemotes,
  'POST /api/git/pull': gitChanges.pull,
  'POST /api/git/push': gitChanges.push,
  'POST /api/git/abort': gitChanges.abort,
  'GET /api/git/commit': gitState.commit,

  'GET /api/processes': processes.list,
  'GET /api/process/log': processes.log,
  'POST /api/process/kill': processes.kill,
  'GET /api/terminals': terminals.list,
  'POST /api/terminal/open': terminals.open,
  'POST /api/terminal/read': terminals.read,
  'POST /api/terminal/input': terminals.input,
  'POST /api/terminal/resize': terminals.resize,
  'POST /api/terminal/close': terminals.close,

  'GET /api/rollback/list': rollback.list,
  'GET /api/rollback/diff': rollback.diff,
  'GET /api/rollback/files': rollback.files,
  'GET /api/rollback/file': rollback.file,
  'POST /api/rollback/restore': rollback.restore,

  'GET /api/crons': crons.list,
  'GET /api/crons/output': crons.output,
  'GET /api/crons/recent': crons.recent,
  'GET /api/crons/history': crons.history,
  'GET /api/crons/status': crons.status,
  'POST /api/crons/create': crons.create,
  'POST /api/crons/update': crons.update,
  'POST /api/crons/delete': crons.remove,
  'POST /api/crons/run': crons.run,
  'POST /api/crons/pause': crons.pause,
  'POST /api/crons/resume': crons.resume,
  'POST /api/crons/preview': crons.preview,

  'GET /api/sessions': sessions.list,
  'GET /api/sessions/search': sessionSearch.search,
  'POST /api/sessions/cleanup': sessions.cleanup,
  'POST /api/sessions/cleanup_zero_message': sessions.cleanupEmpty,
  'GET /api/sessions/gateway/stream': gateway.events,
  'GET /api/session': sessions.get,
  'GET /api/session/message': sessions.message,
  'GET /api/session/status': sessions.status,
  'GET /api/session/usage': insights.session,
  'GET /api/session/export': transfer.exportSession,
  'POST /api/session/import': transfer.importSession,
  'POST /api/session/import_cli': transfer.importCli,
  'POST /api/session/new': sessions.create,
  'POST /api/session/rename': sessions.rename,
  'POST /api/session/update': sessions.update,
  'POST /api/session/delete': sessions.remove,
  'POST /api/session/restore': sessions.restore,
  'POST /api/session/purge': sessions.purge,
  'POST /api/session/clear': sessions.clear,
  'POST /api/session/compress': compression.compress,
  'POST /api/session/uncompress': compression.uncompress,
  'GET /api/session/summary': compression.text,
  'POST /api/session/truncate': sessions.truncate,
  'POST /api/session/retry': sessions.retry,
  'POST /api/session/undo': sessions.undo,
  'POST /api/session/version': sessions.version,
  'POST /api/session/pin': sessions.pin,
  'POST /api/session/archive': sessions.archive,
  'POST /api/session/duplicate': sessions.duplicate,
  'POST /api/session/branch': sessions.branch,
  'POST /api/session/draft': sessions.draft,
  'POST /api/session/move': projects.move,

  'POST /api/chat/start': chat.start,
  'POST /api/chat/steer': steering.steer,
  'POST /api/chat/interrupt': steering.interrupt,
  'GET /api/queue': queue.list,
  'POST /api/queue/add': queue.add,
  'POST /api/queue/edit': queue.edit,
  'POST /api/queue/remove': queue.remove,
  'POST /api/queue/reorder': queue.reorder,
  'POST /api/queue/send': queue.send,
  'POST /api/btw': sideQuestions.ask,
  'POST /api/background': backgroundPrompts.start,
  'GET /api/background/status': backgroundPrompts.status,
  'GET /api/session/mode': sessionMode.get,
  'POST /api/session/mode': sessionMode.set,
  'GET /api/session/yolo': sessionMode.getYolo,
  'POST /api/session/yolo': sessionMode.setYolo,
  'GET /api/session/agent': externalAgent.view,
  'POST /api/session/agent/open': externalAgent.open,
  'POST /api/session/agent/sign-in': externalAgent.signIn,
  'POST /api/session/agent/mode': externalAgent.mode,
  'POST /api/session/agent/option': externalAgent.option,
  'GET /api/session/agent/sessions': externalAgent.sessions,
  'POST /api/session/agent/adopt': externalAgent.adopt,
  'GET /api/config/problems': config.problems,
  'GET /api/guards': guards.list,
  'POST /api/guards/accept': guards.accept,
  'POST /api/guards/changes': guards.settleChanges,
  'GET /api/hooks': guards.hooks,
  'GET /api/sandbox': guards.commandPlace,
  'POST /api/sandbox': guards.changeSandbox,
  'GET /api/permissions': guards.permissions,
  'POST /api/permissions': guards.changePermission,
  'POST /api/permissions/check': guards.tryPermissions,
  'GET /api/budgets': budgets.get,
  'POST /api/budgets': budgets.save,
  'GET /api/chat/stream': chat.events,
  'GET /api/chat/stream/status': chat.status,
  'GET /api/chat/cancel': chat.cancel,
  'POST /api/chat/cancel': chat.cancel,
  'POST /api/chat/retry': chat.retry,
  'POST /api/chat': chat.sync,
  'GET /api/events': events.events,

  'POST /api/transcribe': transcribe.transcribe,
  'GET /api/transcribe/capability': transcribe.capability,
  'POST /api/tts': speak.speak,
  'GET /api/tts/capability': speak.capability,

  'GET /api/import': imports.get,
  'POST /api/import': imports.start,

  'GET /api/backups': backups.get,
  'POST /api/backups': backups.save,
  'POST /api/backups/run': backups.run,
  'GET /api/backups/file': backups.download,

  'GET /api/updates/check': updates.check,
  'POST /api/updates/apply': updates.apply,
  'POST /api/updates/force': updates.overwrite,

  'GET /api/inbox': inbox.inbox,
  'GET /api/running': inbox.running,
  'GET /api/approval/pending': approvals.pending,
  'GET /api/approval/stream': approvals.approvalStream,
  'POST /api/approval/respond': approvals.respond,
  'GET /api/approval/grants': approvals.grants,
  'POST /api/approval/grants/revoke': approvals.revokeGrant,
  'GET /api/approval/inject_test': approvals.injectApproval,
  'POST /api/approval/inject_test': approvals.injectApproval,
  'GET /api/clarify/pending': approvals.clarifyPending,
  'GET /api/clarify/stream': approvals.clarifyStream,
  'POST /api/clarify/respond': approvals.clarifyRespond,
  'GET /api/clarify/inject_test': approvals.injectClarify,
  'POST /api/clarify/inject_test': approvals.injectClarify,
} satisfies RouteTable

/** Routes that end in one parameter, and the static files. */
export const patternRoutes = {
  'GET /session/:id': pages.chatShell,
  'GET /settings/:section': pages.shell,
  'GET /tasks/:task': pages.shell,
  'GET /skills/:skill': pages.shell,
  'GET /share/:token': sharedPage.open,
  'PUT /api/mcp/servers/:name': mcp.save,
  'PATCH /api/mcp/servers/:name': mcp.patch,
  'DELETE /api/mcp/servers/:name': mcp.remove,
  'GET /v1/models/:model': clientApi.model,
  'GET /v1/responses/:id': clientApi.response,
  'DELETE /v1/responses/:id': clientApi.deleteResponse,
  'GET /static/*': pages.asset,
} satisfies RouteTable

export type Api = ApiOf<typeof routes & typeof patternRoutes>

if (import.meta.main)
  await start({ routes, patternRoutes, openApp: App.open, unpackAddon: unpackSqliteAddon })
