/** Composition: the client API and what it remembers of conversations. */
import { join } from 'node:path'
import { ClientApi } from '../client-api/client-api.ts'
import { Conversations } from '../client-api/conversations.ts'
import { ModelNames } from '../client-api/model-names.ts'
import { createDocuments } from '../workspaces/documents/documents.ts'
import { packedHere } from '../store/packed.ts'
import type { ConversationServices } from './conversation.ts'
import type { Composition } from './data.ts'
import type { Engine } from './engine.ts'

export type ClientApiServices = {
  clientApi: ClientApi
  apiConversations: Conversations
}

export const composeClientApi = (
  { config, data, log }: Composition,
  { models, turns, web, endpointOf }: Engine,
  { turnStarter }: ConversationServices,
  addon: string | undefined,
): ClientApiServices => {
  const { homes, sessions, workspaces, toolOutput } = data
  const apiConversations = new Conversations(
    join(config.stateDir, 'cache', 'api.db'),
    addon,
    log.warn,
  )
  const clientApi = new ClientApi({
    sessions,
    turns,
    turnStarter,
    tokens: data.apiTokens,
    homes,
    workspaces,
    toolOutput,
    conversations: apiConversations,
    modelNames: new ModelNames(models),
    endpointOf,
    fetchImage: (...asked) => web.imageForPage(...asked),
    readDocument: createDocuments({ workerCode: packedHere()?.documentWorker }),
    log: log.warn,
  })
  return {
    clientApi,
    apiConversations,
  }
}
