/** Dialog with every shortcut and slash command. */
import { commands } from '../composer/slash-commands.ts'
import { mayRun } from '../composer/slash-routes.ts'
import { formatKeys } from '../shell/keys.ts'
import { shortcuts } from './keys.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { t } from '../shell/shortcut-strings.ts'
import { useShell } from '../../contexts.ts'
import { ScrollBox } from '../../parts/scroll-box.tsx'

export const Shortcuts = () => {
  const { layout } = useShell()
  return (
    <Dialog
      title={t('keys.title')}
      kind="wide"
      closeLabel={t('app.close')}
      onClose={() => {
        layout.shortcutsOpen.value = false
      }}
    >
      <ScrollBox class="keys" label={t('keys.title')}>
        {shortcuts.map(group => (
          <section key={group.label}>
            <h3>{t(group.label)}</h3>
            <dl>
              {group.shortcuts.map(({ keys, label }) => (
                <div key={label} class="keys-line">
                  <dt>{t(label)}</dt>
                  <dd>
                    <kbd>{formatKeys(keys, layout.mac)}</kbd>
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <section class="keys-commands">
          <h3>{t('composer.commands')}</h3>
          <dl>
            {commands
              .filter(({ name }) => mayRun(name))
              .map(({ name, description, args_hint }) => (
                <div key={name} class="keys-line">
                  <dt>
                    <code>/{name}</code> {args_hint && <span class="faint">{args_hint}</span>}
                  </dt>
                  <dd>{description}</dd>
                </div>
              ))}
          </dl>
        </section>
      </ScrollBox>
    </Dialog>
  )
}
