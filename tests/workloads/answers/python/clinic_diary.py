# SPDX-License-Identifier: Apache-2.0
"""The diary of a clinic, on Flask. A patient books an appointment, and everything that depends on its slot is told when the
doctor moves that slot."""
import random
import time

from blinker import Namespace
from flask import Flask, current_app, jsonify, request

BOOKINGS_PER_SECOND = 260
app = Flask(__name__)
signals = Namespace()
slot_moved = signals.signal("slot-moved")


class Slot:
    def __init__(self, room, minute):
        self.room = room
        self.minute = minute


class Appointment:
    def __init__(self, patient, slot, remarks):
        self.patient = patient
        self.slot = slot
        self.remarks = remarks
        self.letter = f"Dear {patient}, we expect you in room {slot.room} at minute {slot.minute}. " + " ".join(remarks)

    def tell_patient(self, slot, minute):
        slot.minute = minute


class Diary:
    def __init__(self):
        self.slots = [Slot(number % 12, number) for number in range(4000)]
        self.latest = {}

    def book(self, patient, number, remarks):
        slot = self.slots[number % len(self.slots)]
        appointment = Appointment(patient, slot, remarks)
        slot_moved.connect(appointment.tell_patient, sender=slot, weak=False)
        self.latest[slot.room] = appointment
        return appointment


app.extensions["diary"] = Diary()


@app.post("/patients/<patient>/appointments")
def book_appointment(patient):
    wanted = request.get_json()
    appointment = current_app.extensions["diary"].book(patient, wanted["slot"], wanted["remarks"])
    return jsonify(patient=patient, room=appointment.slot.room, letter=len(appointment.letter))


def reception():
    client, chosen, begin, number = app.test_client(), random.Random(601), time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * BOOKINGS_PER_SECOND:
            papers = [chosen.randrange(10_000) for _ in range(chosen.randrange(10, 30))]
            wanted = {"slot": chosen.randrange(4000), "remarks": [f"Please bring paper {n} of your insurance." for n in papers]}
            client.post(f"/patients/patient-{number}/appointments", json=wanted)
            number += 1
        time.sleep(0.02)


reception()
