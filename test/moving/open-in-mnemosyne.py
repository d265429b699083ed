"""Imports the package named as argument into a new Mnemosyne, without a window, and prints its cards and repetitions as JSON."""
import json, os, sys, tempfile, types

from mnemosyne.libmnemosyne import Mnemosyne
from mnemosyne.libmnemosyne.ui_components.main_widget import MainWidget


class Silent(MainWidget):
    def show_information(self, text): pass
    def show_error(self, text): sys.exit(text)
    def show_question(self, text, *answers): return 0
    def set_progress_text(self, text): pass
    def set_progress_range(self, count): pass
    def set_progress_value(self, count): pass
    def set_progress_update_interval(self, count): pass
    def increase_progress(self, count): pass
    def close_progress(self): pass


module = types.ModuleType("silent")
module.Silent = Silent
sys.modules["silent"] = module
program = Mnemosyne(upload_science_logs=False, interested_in_old_reps=True, asynchronous_database=False)
program.components.insert(0, ("mnemosyne.libmnemosyne.gui_translators.gettext_gui_translator", "GetTextGuiTranslator"))
program.components.append(("silent", "Silent"))
program.start_review = lambda: None
with tempfile.TemporaryDirectory() as folder:
    program.initialise(data_dir=folder, automatic_upgrades=False)
    [anki] = [each for each in program.component_manager.all("file_format") if type(each).__name__ == "Anki2"]
    anki.do_import(sys.argv[1])
    rows = program.database().con.execute
    cards = rows("SELECT grade, next_rep - last_rep, easiness, ret_reps, lapses FROM cards ORDER BY id").fetchall()
    fields = rows("SELECT value FROM data_for_fact ORDER BY _fact_id, key").fetchall()
    log = rows("SELECT timestamp, grade, scheduled_interval FROM log WHERE event_type = 9 ORDER BY timestamp").fetchall()
    print(json.dumps({"cards": cards, "fields": [value for [value] in fields], "log": log}))
    sys.stdout.flush()
    os._exit(0)
