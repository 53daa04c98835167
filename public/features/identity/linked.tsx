/** Settings → Access: accounts at a provider that sign the person in here. */
import { useLoaded } from '../shell/use-loaded.ts'
import { useEffect } from 'preact/hooks'
import { visibleName } from '../../../lib/base/visible.ts'
import type { Api } from '../../../router.ts'
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { Row, Section } from '../../parts/field.tsx'
import { formatFull } from '../../parts/relative-time.ts'
import { confirmed } from './confirm-password.tsx'
import { t } from './strings.ts'

type View = Api['GET /api/auth/linked']['output']
type Account = View['linked'][number]

const hostOf = (issuer: string): string =>
  URL.canParse(issuer) ? new URL(issuer).hostname : issuer

export const Linked = () => {
  const shell = useShell()
  const { attempt, api, layout, toasts, navigate } = shell
  const [view, load] = useLoaded(() => api('GET /api/auth/linked'))
  useEffect(() => {
    const url = new URL(location.href)
    if (!url.searchParams.has('sign_in')) return
    toasts.show(t('linked.failed'))
    url.searchParams.delete('sign_in')
    history.replaceState(history.state, '', url)
  }, [])
  const accounts = view.value
  if (!accounts) return null
  const { provider, proxy_user: user } = accounts
  if (provider === null && user === null && accounts.linked.length === 0) return null

  const linkUser = () =>
    void attempt(async () => {
      await confirmed(shell, password => api('POST /api/auth/linked/proxy', { password }))
      await load()
    })

  const link = () =>
    void attempt(async () => {
      const begun = await confirmed(shell, password =>
        api('POST /api/auth/oidc/link', { password }),
      )
      if (begun) navigate(begun.url)
    })

  const askRemove = ({ issuer, subject, name }: Account) => {
    layout.confirmation.value = {
      title: t('linked.remove.title', { name: visibleName(name) }),
      text: t('linked.remove.text'),
      confirm: t('linked.remove'),
      danger: true,
      async run() {
        await api('POST /api/auth/linked/remove', { issuer, subject })
        toasts.show(t('linked.removed'))
        await load()
      },
    }
  }

  const offers = [
    ...(provider === null ? [] : [{ name: provider, hint: t('linked.provider'), run: link }]),
    ...(user === null ? [] : [{ name: user, hint: t('linked.proxy'), run: linkUser }]),
  ]

  return (
    <Section title={t('linked.title')}>
      {accounts.linked.map(account => (
        <Row
          key={`${account.issuer} ${account.subject}`}
          label={visibleName(account.name)}
          hint={t('linked.since', {
            host: hostOf(account.issuer),
            time: formatFull(account.linked_at),
          })}
          control={ids => (
            <Button
              id={ids.control}
              kind="danger"
              aria-label={t('linked.remove.what', { name: visibleName(account.name) })}
              onClick={() => askRemove(account)}
            >
              {t('linked.remove')}
            </Button>
          )}
        />
      ))}
      {offers.map(({ name, hint, run }) => (
        <Row
          key={name}
          label={visibleName(name)}
          hint={hint}
          control={ids => (
            <Button
              id={ids.control}
              aria-label={t('linked.link.what', { name: visibleName(name) })}
              onClick={run}
            >
              {t('linked.link')}
            </Button>
          )}
        />
      ))}
    </Section>
  )
}
