"""What a group's name may hold, for one client that sends one request after the other, some of which are not answered.

    register = Register("demo")
    register.joined(cookie)        answered: the group is ready
    register.deleted()             answered
    register.got(cookie)           None: no group has the name
    register.unanswered("delete")  it may take effect at any time from now on, until ...
    register.settled()             ... the manager that had it cannot act any more

Each raises Lost if no order of what was answered, and of any part of what was not, explains the answer."""

NOTHING, UNKNOWN = None, "a group of which no answer was seen"


class Lost(Exception):
    """An acknowledged change is gone, or one happened twice."""


class Register:
    def __init__(self, name):
        self.name = name
        self._may = {NOTHING}
        self._late = set()
        self._seen = set()

    def joined(self, cookie):
        self._expect(cookie, "a join was answered with", makes=True)

    def got(self, cookie):
        self._expect(cookie, "it was read as", makes=False)

    def deleted(self):
        self._may = {NOTHING}

    def unanswered(self, request):
        """`request`: "join" or "delete"."""
        self._late.add(request)

    def settled(self):
        self._may, self._late = self.possible(), set()

    def possible(self):
        may = set(self._may)
        if "delete" in self._late:
            may.add(NOTHING)
        if "join" in self._late and NOTHING in may:
            may.add(UNKNOWN)
        return may

    def _expect(self, value, how, makes):
        may = self.possible()
        is_new = value is not NOTHING and value not in self._seen
        allowed = value in may or (is_new and (UNKNOWN in may or (makes and NOTHING in may)))
        if not allowed:
            raise Lost(f"group {self.name}: {how} {value}, and it may have held {sorted(map(str, may))}")
        self._may = {value}
        if value is not NOTHING:
            self._seen.add(value)
