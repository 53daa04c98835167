/** The sign-in (OAuth) of one MCP server: start, wait for the browser, paste an address, sign out. */
import { useSignal } from '@preact/signals'
import type { McpServerRow } from '../../../lib/schema/mcp.ts'
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { Form, TextField } from '../../parts/form.tsx'
import { TestResult } from '../models/models-view.tsx'
import type { McpState } from './mcp.ts'
import { t } from './strings.ts'

/** Of the tab that the page opens. It closes itself when the browser comes back. */
const TAB = 'agent-mcp-sign-in'

/**
 * A tab for the authorization server, opened while the click is handled: browsers block it later. Null where the sign-in
 * happens in this tab: on phones, and in an installed app, whose tabs are another browser.
 */
const openTab = (): Window | null => {
  const isDesktop = matchMedia('(pointer: fine)').matches
  if (!isDesktop || matchMedia('(display-mode: standalone)').matches) return null
  const tab = window.open('about:blank', TAB)
  // The page of another site must not be able to navigate this one.
  if (tab) tab.opener = null
  return tab
}

/** Called when the settings open: ends the tab of a sign-in, and returns whether the reply belonged to none. */
export const returnFromSignIn = (): boolean => {
  const query = new URLSearchParams(location.search)
  const isExpired = query.get('sign_in') === 'expired'
  if (isExpired) history.replaceState(null, '', location.pathname)
  else if (window.name === TAB) {
    window.name = ''
    window.close()
  }
  return isExpired
}

type Props = { row: McpServerRow; mcp: McpState }

const Waiting = ({ row: { name, sign_in: signIn }, mcp }: Props) => {
  const { attempt } = useShell()
  const address = useSignal('')
  const url = mcp.signInPages.value[name]
  return (
    <>
      <p class="field-hint" role="status">
        {t(signIn.paste ? 'signIn.waiting.paste' : 'signIn.waiting')}
      </p>
      {url !== undefined && (
        <p class="field-hint">
          <a href={url} target="_blank" rel="noopener noreferrer">
            {t('signIn.page')}
          </a>
        </p>
      )}
      <details class="mcp-more" open={signIn.paste}>
        <summary>{t('signIn.paste')}</summary>
        <Form
          submit={t('signIn.finish')}
          isIncomplete={address.value.trim() === ''}
          onSubmit={() => attempt(() => mcp.finishSignIn(address.value))}
        >
          <TextField label={t('signIn.paste.label')} text={address} />
        </Form>
      </details>
      <Button onClick={() => void attempt(() => mcp.cancelSignIn(name))}>
        {t('signIn.cancel')}
      </Button>
    </>
  )
}

export const SignIn = ({ row, mcp }: Props) => {
  const { attempt } = useShell()
  const busy = useSignal(false)
  const { name, sign_in: signIn } = row
  if (signIn.state === 'none' || !row.enabled) return null
  const start = async () => {
    busy.value = true
    const tab = openTab()
    try {
      await attempt(async () => {
        const { url, paste } = await mcp.startSignIn(name)
        if (tab) tab.location.href = url
        // Pasting needs this page to stay: the link below opens the other one.
        else if (!paste) location.assign(url)
      })
    } finally {
      if (tab && mcp.signInPages.value[name] === undefined) tab.close()
      busy.value = false
    }
  }
  return (
    <div class="mcp-sign-in">
      {signIn.failure !== null && (
        <TestResult status={{ busy: false, ok: false, message: signIn.failure }} />
      )}
      {signIn.state === 'pending' && <Waiting row={row} mcp={mcp} />}
      {signIn.state === 'signed_in' && (
        <>
          <p class="field-hint">{t('signIn.done', { host: signIn.host ?? '' })}</p>
          <Button
            aria-label={t('signIn.out.of', { name })}
            onClick={() => void attempt(() => mcp.signOut(name))}
          >
            {t('signIn.out')}
          </Button>
        </>
      )}
      {(signIn.state === 'needed' || signIn.state === 'offered') && (
        <>
          <p class="field-hint">{t(`signIn.${signIn.state}`)}</p>
          <Button
            kind="primary"
            aria-label={t('signIn.at', { name })}
            disabled={busy.value}
            onClick={() => void start()}
          >
            {t(busy.value ? 'signIn.starting' : 'signIn')}
          </Button>
        </>
      )}
    </div>
  )
}
