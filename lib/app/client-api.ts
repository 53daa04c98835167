/** Composition: the client API and what it remembers of conversations. */
import { join } from 'node:path'
import { createClientApi } from '../client-api/client-api.ts'
import { type Conversations, openConversations } from '../client-api/conversations.ts'
import { createModelNames } from '../client-api/model-names.ts'
import { createDocuments } from '../workspaces/documents/documents.ts'
import { packedHere } from '../store/packed.ts'
import type { ApiToken } from '../schema/api-token.ts'
import type { ConversationServices } from './conversation.ts'
import type { Composition } from './data.ts'
import type { Engine } from './engine.ts'

export type ClientApiServices = {
  clientApi: ReturnType<typeof createClientApi> & {
    /** The model names of a token. */
    models: (token: ApiToken) => Promise<string[]>
  }
  apiConversations: Conversations
}

export const composeClientApi = (
  { config, data, log }: Composition,
  { models, turns, web, endpointOf }: Engine,
  { turnStarter }: ConversationServices,
  addon: string | undefined,
): ClientApiServices => {
  const { homes, sessions, workspaces, toolOutput } = data
  const apiConversations = openConversations(join(config.stateDir, 'cache', 'api.db'), {
    addon,
    log: log.warn,
  })
  const modelNames = createModelNames({ list: models.list, compatible: models.compatible })
  const clientApi = createClientApi({
    sessions,
    turns,
    turnStarter,
    tokens: data.apiTokens,
    homes,
    workspaces,
    toolOutput,
    conversations: apiConversations,
    modelNames,
    endpointOf,
    fetchImage: (...asked) => web.imageForPage(...asked),
    readDocument: createDocuments({ workerCode: packedHere()?.documentWorker }),
    log: log.warn,
  })
  return {
    clientApi: { ...clientApi, models: token => modelNames.list(homes.open(token.profile)) },
    apiConversations,
  }
}
