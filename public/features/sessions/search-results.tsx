/** Search results, shown instead of the session list. */
import { formatAgo, formatFull } from '../../parts/relative-time.ts'
import { sessionTitle } from './sessions.ts'
import { t } from '../../strings/t.ts'
import { useChat, useSessions, useShell, useSidebar } from '../../contexts.ts'

/** Distance to the end, in pixels, at which more are fetched. */
const LOAD_MORE_PX = 800

export const SearchResults = () => {
  const { search } = useSidebar()
  const { transcript: chat } = useChat()
  const { route, layout } = useShell()
  const { hits, query, busy, hasMore } = search
  const sessions = useSessions()
  const count = hits.value.length
  const onKeyDown = (event: KeyboardEvent) => {
    const links = [...document.querySelectorAll<HTMLElement>('.result')]
    const at = links.indexOf(event.target as HTMLElement)
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key]
    if (to === undefined || at < 0) return
    event.preventDefault()
    // Above the first result is the search field.
    if (to < 0) layout.focusSearch()
    else links[to]?.focus()
  }
  return (
    <nav
      class="session-scroll"
      aria-label={t('list.search')}
      onScroll={({ currentTarget: list }) => {
        if (list.scrollHeight - list.scrollTop - list.clientHeight < LOAD_MORE_PX) search.more()
      }}
    >
      <p class="list-count" role="status">
        {count === 0 && !busy.value
          ? t('list.none', { query: query.value.trim() })
          : count === 0
            ? t('app.loading')
            : t(hasMore.value ? 'list.results.more' : 'list.results', { count })}
      </p>
      <ul class="results" onKeyDown={onKeyDown}>
        {hits.value.map(hit => (
          <li key={`${hit.session_id}-${hit.message_id ?? ''}`}>
            <a
              class="result"
              href={route.hrefOf({ view: 'chat', sessionId: hit.session_id })}
              aria-current={chat.sessionId.value === hit.session_id ? 'page' : undefined}
              onClick={() => {
                layout.drawer.value = false
              }}
            >
              <span class="result-head">
                <span class="session-title" dir="auto">
                  {sessionTitle(hit)}
                </span>
                <time
                  class="session-time"
                  dateTime={new Date(hit.updated_at * 1000).toISOString()}
                  title={formatFull(hit.updated_at)}
                >
                  {formatAgo(hit.updated_at, sessions.now.value)}
                </time>
              </span>
              {hit.match_type === 'content' && hit.snippet && (
                <span class="result-snippet" dir="auto">
                  {hit.snippet.map((part, index) =>
                    part.mark ? <mark key={index}>{part.text}</mark> : part.text,
                  )}
                </span>
              )}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}
